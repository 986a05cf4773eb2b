return (1 << (10 ** 11)).bit_length()
