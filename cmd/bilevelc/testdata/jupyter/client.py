"""Drives the installed kernel as a notebook does; prints what came back as JSON."""
import json
import sys

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="bilevelc", startup_timeout=60)
found = {"info": client.kernel_info(reply=True, timeout=60)["content"]["language_info"]["name"], "cells": []}


def run(code):
    outputs = []
    reply = client.execute_interactive(code, timeout=120, output_hook=outputs.append)
    cell = {"status": reply["content"]["status"], "stdout": "", "svg": 0, "error": ""}
    for message in outputs:
        content = message["content"]
        if message["msg_type"] == "stream" and content["name"] == "stdout":
            cell["stdout"] += content["text"]
        elif message["msg_type"] == "display_data":
            cell["svg"] += content["data"]["image/svg+xml"].startswith("<svg")
        elif message["msg_type"] == "error":
            cell["error"] = content["ename"]
    found["cells"].append(cell)


try:
    for code in json.loads(sys.argv[1]):
        run(code)
    completion = client.complete("let ä = sum(pre", 15, reply=True, timeout=60)["content"]
    found["completion"] = [completion["matches"], completion["cursor_start"], completion["cursor_end"]]
    found["inspection"] = client.inspect("sumsq", 2, reply=True, timeout=60)["content"]["data"].get("text/plain", "")
    found["open"] = []
    for code in ("upper {", "let a = 1"):
        client.is_complete(code)
        found["open"].append(client.get_shell_msg(timeout=60)["content"]["status"])
    # A cell that would go on for long is interrupted, and the kernel goes on.
    client.execute(":load " + sys.argv[2] + "\n:solve -q --cold --starts 1000000")
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["msg_type"] == "stream":
            break
    manager.interrupt_kernel()
    found["interrupted"] = client.get_shell_msg(timeout=60)["content"]["status"]
    run("1 + 1")
    client.shutdown()
    manager.finish_shutdown()
    found["alive"] = manager.is_alive()
finally:
    manager.shutdown_kernel(now=True)
print(json.dumps(found))
