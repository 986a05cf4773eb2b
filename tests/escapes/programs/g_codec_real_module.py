return b"x".decode("sys")
