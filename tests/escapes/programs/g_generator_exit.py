raise GeneratorExit()
