module e2e

go 1.21
