alias = tools
return await alias._secret(x=1)
