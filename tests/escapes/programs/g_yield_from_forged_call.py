def g():
    yield ['call', 1, 'agents.run', {}]
return await g()
