return open('/etc/passwd').read()
