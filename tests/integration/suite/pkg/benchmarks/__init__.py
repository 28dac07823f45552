"""An asv suite with one of each kind of benchmark."""

print("a suite may print while it is imported")
