result = open("/etc/hostname").read()
