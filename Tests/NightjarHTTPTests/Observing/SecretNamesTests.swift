import NightjarHTTP
import Testing

@Suite struct SecretNamesTests {
    private func isSecret(_ name: String) -> Bool { Array(name.utf8).withUnsafeBytes(isNameOfSecret) }

    @Test(arguments: [
        "password", "Authorization", "Proxy-Authorization", "access_token", "X-Api-Key", "X-Session-Id",
        "client_secret",
        "Cookie", "Set-Cookie", "GITHUB_TOKEN", "PGPASSWORD", "apiKey",
    ])
    func namesOfCredentialsAreKnown(name: String) { #expect(isSecret(name)) }

    @Test(arguments: ["page", "user", "max_tokens", "next_page_token", "Content-Type", "bytes", "monkey", ""])
    func othersAreNot(name: String) { #expect(!isSecret(name)) }
}
