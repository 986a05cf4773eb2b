return ().__ｃｌａｓｓ__
