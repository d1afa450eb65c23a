package kernel

func setVector(v bool) { vector = v }
