import AdvancedOperations
import AdvancedOperationsVisualization
import Foundation
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// The picture of a graph, as a reader of SVG sees it.
final class GraphPicture: NSObject, XMLParserDelegate {
  struct Box: Equatable {
    var x, y, width, height: Double
    var right: Double { x + width }
    var bottom: Double { y + height }
    var middle: Double { y + height / 2 }

    func overlaps(_ other: Box) -> Bool {
      x < other.right && other.x < right && y < other.bottom && other.y < bottom
    }

    func contains(_ other: Box) -> Bool {
      x <= other.x && other.right <= right && y <= other.y && other.bottom <= bottom
    }
  }

  struct Node {
    var title = ""
    var box: Box?
    var isDashed = false
    var lines: [(text: String, x: Double, y: Double, size: Double)] = []

    var name: String {
      String(title[..<(title.range(of: ": ", options: .backwards)?.lowerBound ?? title.endIndex)])
    }
  }

  private(set) var nodes: [Node] = []
  private(set) var frames: [Box] = []
  private(set) var edges: [(path: String, isDashed: Bool)] = []
  private(set) var tipCount = 0
  private(set) var title = ""
  private(set) var style = ""
  private(set) var size = (width: 0.0, height: 0.0)
  /// Text outside of boxes.
  private(set) var remarks: [String] = []
  private var text = ""
  private var attributes: [String: String] = [:]
  private var isInNode = false

  init(_ svg: String) throws {
    super.init()
    let parser = XMLParser(data: Data(svg.utf8))
    parser.delegate = self
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
  }

  /// The first node of a name, with its box.
  func box(_ name: String) throws -> Box {
    try #require(nodes.first { $0.name == name }?.box, "\(name)")
  }

  private func number(_ name: String) -> Double { Double(attributes[name] ?? "") ?? -1 }
  private var box: Box {
    Box(x: number("x"), y: number("y"), width: number("width"), height: number("height"))
  }

  func parser(
    _ parser: XMLParser,
    didStartElement element: String,
    namespaceURI: String?,
    qualifiedName: String?,
    attributes: [String: String]
  ) {
    self.attributes = attributes
    text = ""
    switch (element, attributes["class"]) {
    case ("svg", _): size = (number("width"), number("height"))
    case ("g", _):
      isInNode = true
      nodes.append(Node())
    case ("rect", "box"):
      nodes[nodes.count - 1].box = box
      nodes[nodes.count - 1].isDashed = attributes["stroke-dasharray"] != nil
    case ("rect", "group"): frames.append(box)
    case ("path", "edge"):
      edges.append((attributes["d"] ?? "", attributes["stroke-dasharray"] != nil))
    case ("path", "arrow"): tipCount += 1
    default: break
    }
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

  func parser(
    _ parser: XMLParser,
    didEndElement element: String,
    namespaceURI: String?,
    qualifiedName: String?
  ) {
    switch element {
    case "g": isInNode = false
    case "title" where isInNode: nodes[nodes.count - 1].title = text
    case "title": title = text
    case "style": style = text
    case "text" where isInNode:
      let size = Double(attributes["font-size"] ?? "13") ?? -1
      nodes[nodes.count - 1].lines.append((text, number("x"), number("y"), size))
    case "text": remarks.append(text)
    default: break
    }
  }
}
