/// The initial data: 8 users, 25 articles and 60 comments. Equal seeds produce equal data.
struct SeedData {
    private(set) var users = Table<User>()
    private(set) var articles = Table<Article>()
    private(set) var comments = Table<Comment>()

    private var random: SplitMix64

    /// The time of the first row: 2026-01-05T08:00:00Z.
    private static let start = 1_767_600_000
    private static let hour = 3600

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        addUsers()
        addArticles()
        addComments()
    }

    static func email(of handle: String) -> String { "\(handle)@example.org" }

    // `insert` cannot fail here, because the initial data is far below the capacity of a table.

    private mutating func addUsers() {
        for (index, person) in SeedData.people.enumerated() {
            let createdAt = SeedData.start + index * SeedData.hour
            _ = try? users.insert { id in
                User(
                    id: id, handle: person.handle, name: person.name, email: SeedData.email(of: person.handle),
                    bio: person.bio, createdAt: createdAt, updatedAt: createdAt)
            }
        }
    }

    private mutating func addArticles() {
        for (index, title) in SeedData.titles.enumerated() {
            let createdAt = SeedData.start + (24 + 7 * index) * SeedData.hour
            let author = random.pick(users.rows).id
            let tags = random.distinct(1 + random.below(3), of: SeedData.tags)
            let sentences = random.distinct(3, of: SeedData.sentences)
            let summary = random.below(4) == 0 ? nil : "\(title), in three sentences."
            _ = try? articles.insert { id in
                Article(
                    id: id, title: title, summary: summary, body: sentences.joined(separator: " "), authorID: author,
                    tags: tags, isPublished: index % 5 != 4, createdAt: createdAt, updatedAt: createdAt)
            }
        }
    }

    private mutating func addComments() {
        for index in 0..<60 {
            let createdAt = SeedData.start + (24 * 9 + index) * SeedData.hour
            let author = random.pick(users.rows).id
            // The first article always has a few comments, so that examples have data.
            let article = index < 4 ? 1 : random.pick(articles.rows).id
            let body = random.pick(SeedData.remarks)
            _ = try? comments.insert { id in
                Comment(
                    id: id, articleID: article, authorID: author, body: body, createdAt: createdAt, updatedAt: createdAt
                )
            }
        }
    }

    // MARK: Content

    private static let people: [(handle: String, name: String, bio: String?)] = [
        ("ada", "Ada Sørensen", "Writes compilers by day and letters by night."),
        ("bruno", "Bruno Marchetti", "Keeps an old radio telescope running."),
        ("chidi", "Chidi Okafor", nil),
        ("dana", "Dana Weiss", "Collects maps of places that never were."),
        ("emi", "Emi Tanaka", "渡り鳥を数えています。"),
        ("farid", "Farid Haddad", "Bread, bicycles, and packet captures."),
        ("greta", "Greta Lindqvist", nil),
        ("hugo", "Hugo Álvarez", "Teaches physics to people who fear it."),
    ]

    private static let tags = [
        "swift", "lua", "C++", "networking", "birds", "iOS & Swift", "how-to", "history", "café", "maps",
    ]

    private static let titles = [
        "The bird that flies by moonlight", "Counting packets on a quiet night", "Why the retry made it worse",
        "A short history of the semaphore tower", "What a header is for", "Notes from the last lighthouse",
        "Bread in five steps", "The clock that was always early", "Maps of places that never were",
        "Reading a socket like a letter", "Two kinds of patience", "On naming things twice",
        "The cache that remembered too much", "How swifts sleep", "A field guide to timeouts",
        "Learning to close what you open", "Letters to a young engineer", "The café at the end of the line",
        "Small tools, sharp edges", "When the token expired", "Seven bridges and a graph",
        "The radio behind the mountain", "A table of contents for the sky", "Half-open, half-closed",
        "How to leave a connection",
    ]

    private static let sentences = [
        "It began, as most things do, with a question that nobody wanted to answer.",
        "The first measurement was wrong, and it took a week to notice.",
        "What arrives in order has not always been sent in order.",
        "There is a kind of silence that only a waiting server knows.",
        "We drew the diagram on a napkin and kept the napkin.",
        "Nobody remembers the outage that did not happen.",
        "A good name saves a paragraph, and a good paragraph saves a meeting.",
        "The instructions fit on one page, and the second page was the exceptions.",
        "By morning the log had grown to the size of a small library.",
        "Patience is a timeout that somebody has thought about.",
        "The old design was right about one thing: it could be turned off.",
        "Everything worked until two people tried it at once.",
    ]

    private static let remarks = [
        "I had not seen it that way before. Thank you.", "The second paragraph made me laugh out loud.",
        "Is there a source for the part about the bridge?", "We tried this at work, and it holds up.",
        "A small correction: the tower was finished a year later.", "Please write more of these.",
        "I disagree with the ending, but what an ending.", "Saved for the next rainy Sunday.",
        "この文章はとても良いです。", "My students will read this tomorrow.",
    ]
}
