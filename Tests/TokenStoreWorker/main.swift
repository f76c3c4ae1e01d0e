import Glibc
print("x")
