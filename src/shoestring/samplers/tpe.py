from shoestring.samplers.simple import Random as TPE
