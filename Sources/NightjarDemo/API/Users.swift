/// `/v1/users`
struct Users {
    let store: Store

    func add(to router: inout Router) {
        router.on(.GET, "/v1/users", list)
        router.on(.POST, "/v1/users", create)
        router.on(.GET, "/v1/users/{id}", read)
        router.on(.PUT, "/v1/users/{id}", replace)
        router.on(.PATCH, "/v1/users/{id}", patch)
        router.on(.DELETE, "/v1/users/{id}", delete)
    }

    /// Returns a page of users. Filters: `handle` (exact), `q` (in the name).
    private func list(_ request: Request) throws(Problem) -> Response {
        let page = try Page(request)
        let sort = try Sort<User>(
            request,
            by: [
                "handle": { $0.handle < $1.handle },
                "name": { $0.name < $1.name },
                "created_at": { $0.createdAt < $1.createdAt },
            ])
        var rows = store.users.rows
        if let handle = request.query("handle") {
            rows = rows.filter { $0.handle == handle }
        }
        if let words = request.query("q")?.lowercased() {
            rows = rows.filter { $0.name.lowercased().contains(words) }
        }
        return try page.response(of: sort(rows), Users.json, to: request)
    }

    private func read(_ request: Request) throws(Problem) -> Response {
        try Users.representation(store.user(request.id(of: "user"))).respond(request)
    }

    private func create(_ request: Request) throws(Problem) -> Response {
        let draft = try Draft(request.jsonObject(), store, replacing: nil)
        let now = CalendarTime.now()
        let user = try store.users.insert { id in draft.user(id: id, createdAt: now, updatedAt: now) }
        return Users.representation(user).created(at: "/v1/users/\(user.id)")
    }

    private func replace(_ request: Request) throws(Problem) -> Response {
        let user = try store.user(request.id(of: "user"))
        try Users.representation(user).checkChange(request)
        return try .json(Users.json(update(user, to: request.jsonObject())))
    }

    private func patch(_ request: Request) throws(Problem) -> Response {
        let user = try store.user(request.id(of: "user"))
        try Users.representation(user).checkChange(request)
        return try Users.representation(update(user, to: request.patched(Users.json(user)))).changed(request)
    }

    private func update(_ user: User, to document: JSON) throws(Problem) -> User {
        let draft = try Draft(document, store, replacing: user.id)
        let updated = draft.user(id: user.id, createdAt: user.createdAt, updatedAt: CalendarTime.now())
        store.users.replace(updated)
        return updated
    }

    /// Deletes a user. Fails while the user is the author of an article or a comment.
    private func delete(_ request: Request) throws(Problem) -> Response {
        let user = try store.user(request.id(of: "user"))
        try Users.representation(user).checkChange(request)
        let isAuthor =
            store.articles.rows.contains { $0.authorID == user.id }
            || store.comments.rows.contains { $0.authorID == user.id }
        guard !isAuthor else {
            throw Problem(.conflict, "user \(user.id) is the author of articles or comments; delete those first")
        }
        store.users.remove(user.id)
        store.avatars[user.id] = nil
        return Response(.noContent)
    }

    static func representation(_ user: User, control: String = Representation.validated) -> Representation {
        .json(json(user), control: control, modified: user.updatedAt)
    }

    static func json(_ user: User) -> JSON {
        [
            "id": .int(user.id),
            "handle": .string(user.handle),
            "name": .string(user.name),
            "email": .string(user.email),
            "bio": .optional(user.bio),
            "created_at": .string(CalendarTime(seconds: user.createdAt).timestamp),
            "updated_at": .string(CalendarTime(seconds: user.updatedAt).timestamp),
        ]
    }

    /// The fields that a client can set.
    private struct Draft {
        let handle: String
        let name: String
        let email: String
        let bio: String?

        init(_ document: JSON, _ store: Store, replacing id: Int?) throws(Problem) {
            var fields = Fields(
                document, known: ["handle", "name", "email", "bio"], readOnly: ["id", "created_at", "updated_at"])
            let handle = fields.text("handle", limit: 40)
            name = fields.text("name", limit: 100)
            email = fields.text("email", limit: 254)
            bio = fields.optionalText("bio", limit: 1000)
            if store.users.rows.contains(where: { $0.handle == handle && $0.id != id }) {
                fields.refuse("handle", "\"\(handle)\" is taken")
            }
            if !email.isEmpty, !email.dropFirst().dropLast().contains("@") {
                fields.refuse("email", "must be an email address, which contains an @")
            }
            try fields.check()
            self.handle = handle
        }

        func user(id: Int, createdAt: Int, updatedAt: Int) -> User {
            User(
                id: id, handle: handle, name: name, email: email, bio: bio, createdAt: createdAt, updatedAt: updatedAt)
        }
    }
}
