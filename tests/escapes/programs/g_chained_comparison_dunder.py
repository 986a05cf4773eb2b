return 1 < (2).__class__.__base__ > 3
