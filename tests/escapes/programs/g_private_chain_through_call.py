return (await tools.search(query='x'))._hidden
