/**
 * The bindings that jextract generates from the C headers of libibverbs and librdmacm, and the loader of the two
 * libraries.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm,org.rdmapanama}.
 */
// The modules that it exports to are compiled later.
@SuppressWarnings("module")
module org.rdmapanama.ffm {
    exports org.rdmapanama.ffm;
    exports org.rdmapanama.ffm.verbs;
    exports org.rdmapanama.ffm.internal to
            org.rdmapanama,
            org.rdmapanama.cm,
            org.rdmapanama.soft;
}
