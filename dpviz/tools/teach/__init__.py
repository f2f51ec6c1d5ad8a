"""For teachers: plans, what students get wrong, exercises, what a class answered, and stills for slides."""
