import Testing

@Suite struct PlaceholderServiceTests {}
