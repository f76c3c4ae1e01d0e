/// Guesses the media type of a file from its name extension.
public enum FileType {
    /// The media types of files that are commonly sent to APIs, by extension in lower case.
    private static let table: [String: String] = [
        "aac": "audio/aac", "avif": "image/avif", "avi": "video/x-msvideo", "bin": "application/octet-stream",
        "bmp": "image/bmp", "bz2": "application/x-bzip2", "css": "text/css", "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "eml": "message/rfc822", "epub": "application/epub+zip", "flac": "audio/flac",
        "geojson": "application/geo+json",
        "gif": "image/gif", "gz": "application/gzip", "har": "application/json", "heic": "image/heic",
        "heif": "image/heif", "htm": "text/html", "html": "text/html", "ico": "image/vnd.microsoft.icon",
        "ics": "text/calendar", "jar": "application/java-archive", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "jsonl": "application/jsonl", "jxl": "image/jxl",
        "log": "text/plain", "m4a": "audio/mp4", "m4v": "video/x-m4v", "md": "text/markdown",
        "mid": "audio/midi", "mjs": "text/javascript", "mkv": "video/x-matroska", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "ndjson": "application/x-ndjson", "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf",
        "pdf": "application/pdf", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf", "sql": "application/sql", "svg": "image/svg+xml", "tar": "application/x-tar",
        "tif": "image/tiff", "tiff": "image/tiff", "toml": "application/toml", "tsv": "text/tab-separated-values",
        "ttf": "font/ttf", "txt": "text/plain", "vcf": "text/vcard", "wasm": "application/wasm", "wav": "audio/wav",
        "weba": "audio/webm", "webm": "video/webm", "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2",
        "xhtml": "application/xhtml+xml", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "xz": "application/x-xz", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd", "7z": "application/x-7z-compressed",
    ]
    private static let longestEnding = 7

    /// Returns the media type for a file name or path. Returns `application/octet-stream` if the extension is unknown.
    public static func contentType(of name: String) -> String {
        let base = lastComponent(name).utf8
        // A name such as `.json` is a hidden file without an extension.
        guard let dot = base.lastIndex(of: UInt8(ascii: ".")), dot != base.startIndex else { return unknown }
        let ending = base[base.index(after: dot)...].prefix(longestEnding + 1)
        return table[String(decoding: ending.map(ASCII.lowercase), as: UTF8.self)] ?? unknown
    }

    /// Returns the part after the last slash, or the whole path if there is no slash.
    static func lastComponent(_ path: String) -> Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path[...] }
        return path[path.utf8.index(after: slash)...]
    }

    private static let unknown = "application/octet-stream"
}
