import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// What stands in an SVG, as an XML parser sees it.
final class SVGContent: NSObject, XMLParserDelegate {
  struct Element {
    var name: String
    var group: String?
    var attributes: [String: String]

    func number(_ attribute: String) -> Double? {
      attributes[attribute].flatMap { Double($0) }
    }
  }

  private(set) var elements: [Element] = []
  private var texts: [String] = []
  private(set) var isWellFormed = false
  private var groups: [String?] = []

  init(_ svg: String) {
    super.init()
    let parser = XMLParser(data: Data(svg.utf8))
    parser.delegate = self
    isWellFormed = parser.parse()
  }

  func elements(_ name: String, in group: String) -> [Element] {
    elements.filter { $0.name == name && $0.group == group }
  }

  /// Whether an element has this text and no other.
  func hasText(_ text: String) -> Bool {
    texts.contains { $0.trimmingCharacters(in: .newlines) == text }
  }

  func parser(
    _ parser: XMLParser,
    didStartElement name: String,
    namespaceURI: String?,
    qualifiedName: String?,
    attributes: [String: String] = [:]
  ) {
    if name == "g" { groups.append(attributes["id"]) }
    elements.append(Element(name: name, group: groups.last ?? nil, attributes: attributes))
    texts.append("")
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    texts[texts.count - 1] += text
  }

  func parser(
    _ parser: XMLParser,
    didEndElement name: String,
    namespaceURI: String?,
    qualifiedName: String?
  ) {
    if name == "g" { groups.removeLast() }
  }
}
