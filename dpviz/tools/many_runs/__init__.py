"""Many runs of one method."""
