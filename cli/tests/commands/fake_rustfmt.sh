#!/bin/sh
# Prints the code as it is.
exec cat
