import NightjarAPI
import NightjarHTTP
import Testing

@Suite struct CatalogLoaderTests {
    @Test func theDocumentItselfIsWantedFirst() {
        #expect(CatalogLoader("/apis/pets.yaml").wanted == ["/apis/pets.yaml"])
    }
}
