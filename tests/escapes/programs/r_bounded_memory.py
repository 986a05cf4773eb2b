held = bytearray(400 * 1024 * 1024)
for place in range(0, len(held), 4096):
    held[place] = 1
return len(held)
