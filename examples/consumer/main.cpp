#include <iostream>

#include "starling/core/version.h"

int main() { std::cout << "built against Starling " << starling::version() << "\n"; }
