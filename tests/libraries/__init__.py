"""Other people's programs: the functions of an installed package, called as its own examples and tests call them."""
