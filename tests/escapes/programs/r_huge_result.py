return 'a' * 30_000_000
