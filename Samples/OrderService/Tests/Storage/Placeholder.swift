import Testing

@Suite struct PlaceholderStorageTests {}
