import Testing

@Suite struct PlaceholderProviderTests {}
