"""The rules: values in, values out; standard library only."""
