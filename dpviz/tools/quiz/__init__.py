"""The quiz: ten questions before and after, and a code that sums up the answers without a name."""
