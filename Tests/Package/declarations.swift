import Nightjar

struct Article: Decodable { var title: String }
struct Changes: Encodable {
    var title: String?
    var teaser: Null?
}
