return b"x".decode("../../../os")
