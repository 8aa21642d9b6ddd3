import Testing

@Suite struct PlaceholderProgramTests {}
