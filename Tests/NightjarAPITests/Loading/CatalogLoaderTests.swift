import NightjarAPI
import NightjarHTTP
import Testing

@Suite struct CatalogLoaderTests {
    @Test func mainDocumentIsLoadedFirst() {
        #expect(CatalogLoader("/apis/pets.yaml").missing == ["/apis/pets.yaml"])
    }
}
