import copy
error = ValueError("x")
error.add_note("n")
other = copy.copy(error)
other.add_note(3)
return str(other)
