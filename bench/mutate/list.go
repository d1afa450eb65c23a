package main

var list = []named{}
