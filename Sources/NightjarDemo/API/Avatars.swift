import NIOCore
import NIOHTTP1

/// A picture of a user.
struct Avatar {
    let filename: String?
    let contentType: String
    let bytes: [UInt8]
    /// Seconds since 1970.
    let updatedAt: Int

    var representation: Representation {
        var representation = Representation(
            headers: ["Content-Type": contentType, "Cache-Control": Representation.validated],
            content: ByteBuffer(bytes: bytes), tag: EntityTag(of: bytes), modified: updatedAt)
        representation.hasRanges = true
        return representation
    }
}

/// `/v1/users/{id}/avatar`: the picture of a user. It is uploaded as `multipart/form-data` with one part named
/// `avatar`, which must be an image.
struct Avatars {
    let store: Store

    /// The maximum sizes in bytes of a picture and of the form that contains it.
    private static let limit = 1 << 20
    private static let formLimit = limit + 64 * 1024

    func add(to router: inout Router) {
        router.on(.GET, "/v1/users/{id}/avatar", read)
        router.on(.PUT, "/v1/users/{id}/avatar", limit: Avatars.formLimit, replace)
        router.on(.DELETE, "/v1/users/{id}/avatar", delete)
    }

    private func read(_ request: Request) throws(Problem) -> Response {
        let user = try store.user(request.id(of: "user"))
        guard let avatar = store.avatars[user.id] else {
            throw Problem(.notFound, "user \(user.id) has no avatar")
        }
        return try avatar.representation.respond(request)
    }

    private func replace(_ request: Request) throws(Problem) -> Response {
        let user = try store.user(request.id(of: "user"))
        try store.avatars[user.id]?.representation.checkChange(request)
        let avatar = try upload(request)
        let isNew = store.avatars.updateValue(avatar, forKey: user.id) == nil
        var checksum = CRC32()
        checksum.update(ByteBuffer(bytes: avatar.bytes))
        return .json(
            [
                "user_id": .int(user.id),
                "filename": .optional(avatar.filename),
                "content_type": .string(avatar.contentType),
                "bytes": .int(avatar.bytes.count),
                "crc32": .string(checksum.text),
                "url": .string("/v1/users/\(user.id)/avatar"),
            ], status: isNew ? .created : .ok)
    }

    private func delete(_ request: Request) throws(Problem) -> Response {
        let user = try store.user(request.id(of: "user"))
        guard let avatar = store.avatars[user.id] else {
            throw Problem(.notFound, "user \(user.id) has no avatar")
        }
        try avatar.representation.checkChange(request)
        store.avatars[user.id] = nil
        return Response(.noContent)
    }

    private func upload(_ request: Request) throws(Problem) -> Avatar {
        let type = request.head.headers.first(name: "content-type").flatMap { FieldParameters($0) }
        guard type?.value.lowercased() == "multipart/form-data" else {
            throw Problem(.unsupportedMediaType, "send the picture as multipart/form-data, in a part named \"avatar\"")
        }
        var parser = MultipartParser(boundary: try Form.boundary(type))
        var parts: [(head: MultipartParser.Head, bytes: [UInt8])] = []
        do throws(MultipartParser.Fault) {
            try parser.parse(request.body.readableBytesView) { event in
                switch event {
                case .head(let head): parts.append((head, []))
                case .content(let bytes): parts[parts.count - 1].bytes += bytes
                case .end: break
                }
            }
        } catch {
            throw Problem(.badRequest, "the body is not multipart/form-data: \(error.reason)")
        }
        guard parser.isComplete else {
            throw Problem(.badRequest, "the body is not multipart/form-data: its closing delimiter is missing")
        }
        let pictures = parts.filter { $0.head.name == "avatar" }
        guard pictures.count == 1, let picture = pictures.first else {
            throw Avatars.refusal("expected one part with this name, got \(pictures.count)")
        }
        guard let contentType = picture.head.contentType, contentType.lowercased().hasPrefix("image/") else {
            throw Avatars.refusal("must be an image, not \(picture.head.contentType ?? "a part without a type")")
        }
        guard (1...Avatars.limit).contains(picture.bytes.count) else {
            throw Avatars.refusal("must have 1 to \(Avatars.limit) bytes, not \(picture.bytes.count)")
        }
        return Avatar(
            filename: picture.head.filename, contentType: contentType, bytes: picture.bytes,
            updatedAt: CalendarTime.now())
    }

    private static func refusal(_ detail: String) -> Problem {
        Problem.invalid([Problem.Fault(place: .body(pointer: "/avatar"), detail: detail)])
    }
}
