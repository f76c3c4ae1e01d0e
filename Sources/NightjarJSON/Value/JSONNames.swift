/// Converts between snake case and camel case: `image_url_small` and `imageUrlSmall`.
enum JSONNames {
    /// Converts a name to camel case. Keeps leading and trailing underscores, as in `_id` and `__v`. Returns a name
    /// without inner underscores unchanged.
    static func camelCase(_ name: String) -> String {
        let characters = name[...]
        guard let first = characters.firstIndex(where: { $0 != "_" }),
            let last = characters.lastIndex(where: { $0 != "_" })
        else { return name }
        let words = characters[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        let tail = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
        return characters[..<first] + words[0].lowercased() + tail.joined()
            + characters[characters.index(after: last)...]
    }

    /// Converts a name to snake case. A word begins at an uppercase letter that follows a lowercase letter or a digit.
    /// In a sequence of uppercase letters, the last letter begins a word if a lowercase letter follows: `imageURLSmall`
    /// becomes `image_url_small`.
    static func snakeCase(_ name: String) -> String {
        let characters = Array(name)
        var result = ""
        for (index, character) in characters.enumerated() {
            let isWordStart =
                index > 0 && character.isUppercase && characters[index - 1] != "_"
                && (!characters[index - 1].isUppercase
                    || index + 1 < characters.count && characters[index + 1].isLowercase)
            if isWordStart { result += "_" }
            result += character.lowercased()
        }
        return result
    }
}
