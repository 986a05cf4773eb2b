return await getattr(tools, '_secret')(x=1)
