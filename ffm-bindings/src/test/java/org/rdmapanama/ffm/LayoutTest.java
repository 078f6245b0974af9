package org.rdmapanama.ffm;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.SequenceLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.efa.efadv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.verbs.posix_mutex;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * Compares every constant, struct, union and field of the generated bindings with what this machine's C compiler says
 * about the installed headers, or about those in the folder that the environment variable RDMA_CORE_INCLUDE names.
 * <p>
 * The bindings come from one version of rdma-core and are used with every version from 44 on. What the headers may
 * lack is therefore what {@link #SINCE} lists, and only when they are older than the version named there. Anything
 * else that differs is a failure.
 */
class LayoutTest {
    /**
     * The constants, the fields, as struct.field, and the structs, as in C, that came after rdma-core 44, each with the
     * version whose headers were the first to have it. Such a field lies at the end of its struct, or is one of {@link
     * #WERE_RESERVED}.
     */
    private static final Map<String, Integer> SINCE = new TreeMap<>(Map.ofEntries(
            entry("IBV_ACCESS_FLUSH_GLOBAL", 45),
            entry("IBV_ACCESS_FLUSH_PERSISTENT", 45),
            entry("IBV_FLUSH_GLOBAL", 45),
            entry("IBV_FLUSH_MR", 45),
            entry("IBV_FLUSH_PERSISTENT", 45),
            entry("IBV_FLUSH_RANGE", 45),
            entry("IBV_QP_EX_WITH_FLUSH", 45),
            entry("IBV_WC_FLUSH", 45),
            entry("IBV_WR_FLUSH", 45),
            entry("IB_UVERBS_ACCESS_FLUSH_GLOBAL", 45),
            entry("IB_UVERBS_ACCESS_FLUSH_PERSISTENT", 45),
            entry("ibv_qp_ex.wr_flush", 45),
            entry("IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES", 46),
            entry("IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS", 46),
            entry("IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG", 46),
            entry("IBV_PORT_LINK_SPEED_XDR_SUP", 49),
            entry("ibv_port_attr.active_speed_ex", 49),
            entry("MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED", 45),
            entry("MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM", 47),
            entry("mlx5dv_context.max_dc_rd_atom", 47),
            entry("mlx5dv_context.max_dc_init_rd_atom", 47),
            entry("MLX5DV_CONTEXT_MASK_REG_C0", 50),
            entry("mlx5dv_context.reg_c0", 50),
            entry("struct mlx5dv_devx", 54),
            entry("MLX5DV_OBJ_DEVX", 54),
            entry("mlx5dv_obj.devx", 54),
            entry("MLX5DV_CONTEXT_MASK_OOO_RECV_WRS", 55),
            entry("MLX5DV_QP_CREATE_OOO_DP", 55),
            entry("struct mlx5dv_ooo_recv_wrs_caps", 55),
            entry("mlx5dv_context.ooo_recv_wrs_caps", 55),
            entry("EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE", 46),
            entry("EFADV_MR_ATTR_VALIDITY_RDMA_READ_IC_ID", 50),
            entry("EFADV_MR_ATTR_VALIDITY_RDMA_RECV_IC_ID", 50),
            entry("EFADV_MR_ATTR_VALIDITY_RECV_IC_ID", 50),
            entry("struct efadv_mr_attr", 50),
            entry("EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV", 52),
            entry("EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV", 52),
            entry("EFADV_WC_EX_WITH_IS_UNSOLICITED", 52),
            entry("efadv_cq.wc_is_unsolicited", 52),
            entry("efadv_qp_init_attr.flags", 52),
            entry("efadv_qp_init_attr.sl", 55),
            entry("struct efadv_cq_attr", 59),
            entry("struct efadv_wq_attr", 59),
            entry("efadv_cq_attr.doorbell", 60),
            entry("efadv_wq_attr.caps", 65)));

    /**
     * The newer fields that took bytes which were reserved before, each with the field that had them. Without the
     * former, the latter is longer; the struct has the same size.
     */
    private static final Map<String, String> WERE_RESERVED = Map.of(
            "efadv_qp_init_attr.flags", "efadv_qp_init_attr.reserved",
            "efadv_qp_init_attr.sl", "efadv_qp_init_attr.reserved",
            "efadv_wq_attr.caps", "efadv_wq_attr.reserved");

    /** The class of constants and functions in each generated package. */
    private static final List<Class<?>> HEADERS = List.of(rdma_h.class, mlx5dv_h.class, efadv_h.class);

    /**
     * rdma-core extends verbs_context at its front, since callers reach its members from its end, the ibv_context.
     * This is the newer member, of version 59, that lies next to the first of ours: what precedes its end is left out
     * of the size and the offsets.
     */
    private static final String NEWER_FRONT = "verbs_context.alloc_dmah";

    /** Types that stand in for opaque ones of the C library: see rdma.h. They have its size, but not its members. */
    private static final Map<String, String> STAND_INS =
            Map.of("posix_mutex", "pthread_mutex_t", "posix_cond", "pthread_cond_t");

    // The texts after the name are those of describe(). 5 is the class of pointers, for GCC as for Clang.
    private static final String MACROS = """
            #define CONSTANT(name) printf("%s %lld\\n", #name, (long long) (name));
            #define TYPE(name, type, front) \\
                printf("%s size %zu, alignment %zu\\n", name, sizeof(type) - (front), _Alignof(type));
            #define FIELD(name, type, path, front) \\
                printf("%s offset %zu, size %zu\\n", name, offsetof(type, path) - (front), sizeof(((type *) 0)->path));
            #define SCALAR(name, type, path, front) \\
                printf("%s offset %zu, size %zu, %s\\n", name, offsetof(type, path) - (front), \\
                    sizeof(((type *) 0)->path), \\
                    __builtin_classify_type(((type *) 0)->path) == 5 ? "pointer" : "number");
            """;

    private static CCompiler compiler;

    /** What precedes the members of verbs_context that the bindings know, as a C expression. */
    private static String front;

    /** The symbols of all lists by kind: constant, function, struct, union. */
    private static final Map<String, Set<String>> SYMBOLS = new HashMap<>();

    /** The class of constants and functions beside each type, and the one that each constant is in. */
    private static final Map<String, Class<?>> HEADER_OF = new HashMap<>();

    /** The members of {@link #SINCE} that the headers lack. */
    private static final Set<String> ABSENT = new TreeSet<>();

    /** What the C compiler says about each constant, type and field. */
    private static final Map<String, String> C = new HashMap<>();

    /** One field of a generated layout; the path has the dots and indices that C gives it. */
    private record Field(String type, String path, long offset, MemoryLayout layout) {
        String name() {
            return type + "." + path;
        }
    }

    @BeforeAll
    static void askTheCompiler(@TempDir final Path folder) throws Exception {
        for (final Class<?> header : HEADERS) {
            final Map<String, Set<String>> listed = symbols(header);
            listed.forEach((kind, names) ->
                    SYMBOLS.computeIfAbsent(kind, any -> new TreeSet<>()).addAll(names));
            listed.values().forEach(names -> names.forEach(name -> HEADER_OF.put(name, header)));
        }

        compiler = new CCompiler(folder);
        for (final String symbol : SINCE.keySet()) {
            if (!exists(symbol)) {
                ABSENT.add(symbol);
            }
        }

        front = exists(NEWER_FRONT) ? offsetOf(NEWER_FRONT) + " + sizeof(void *)" : "0";

        for (final String line : answers().lines().toList()) {
            final int space = line.indexOf(' ');
            C.put(line.substring(0, space), line.substring(space + 1));
        }
        System.out.println("Comparing " + C.size() + " constants, types and fields; the headers lack " + ABSENT);
    }

    @Test
    void shouldBindEverySymbolOfTheListAndNoOther() throws Exception {
        final List<String> differences = new ArrayList<>();
        for (final Class<?> header : HEADERS) {
            final Set<String> listed = new TreeSet<>();
            symbols(header).values().forEach(listed::addAll);
            final Set<String> bound = boundConstantsAndFunctions(header);
            bound.addAll(boundTypes(header));

            final String list = " in " + list(header).getFileName();
            minus(listed, bound).forEach(symbol -> differences.add(symbol + " is" + list + ", but not bound"));
            minus(bound, listed).forEach(symbol -> differences.add(symbol + " is bound, but not" + list));
        }
        assertNone(differences);
    }

    @Test
    void shouldBindEveryNewerSymbol() throws Exception {
        final Set<String> bound = new TreeSet<>();
        for (final Class<?> header : HEADERS) {
            bound.addAll(boundConstantsAndFunctions(header));
        }
        for (final String type : boundTypes()) {
            bound.add("struct " + type);
        }
        for (final Field field : allFields()) {
            bound.add(field.name());
        }

        final List<String> lost = new ArrayList<>();
        minus(SINCE.keySet(), bound).forEach(symbol -> lost.add(symbol + " is in SINCE, but not bound"));
        assertNone(lost);
    }

    @Test
    void shouldFindEverySymbolOfTheHeadersVersion() {
        // Headers do not tell their version: they are at least as new as their newest symbol.
        int version = 44;
        for (final Map.Entry<String, Integer> symbol : SINCE.entrySet()) {
            if (!ABSENT.contains(symbol.getKey())) {
                version = Math.max(version, symbol.getValue());
            }
        }

        final List<String> lost = new ArrayList<>();
        for (final String symbol : ABSENT) {
            if (SINCE.get(symbol) <= version) {
                lost.add(symbol + " is part of rdma-core since " + SINCE.get(symbol)
                        + ", but is not in these headers, which are of " + version + " or newer");
            }
        }
        assertNone(lost);
    }

    @Test
    void shouldAgreeWithTheCompilerOnEveryConstant() throws Exception {
        final List<String> differences = new ArrayList<>();
        int compared = 0;
        for (final String name : minus(symbols("constant"), ABSENT)) {
            final Object value = HEADER_OF.get(name).getMethod(name).invoke(null);
            final String c = C.get(name);
            if (!isValue(value, c)) {
                differences.add(name + ": the bindings have " + value + ", the headers " + c);
            }
            compared++;
        }

        assertNone(differences);
        final long absent = ABSENT.stream().filter(LayoutTest::isConstant).count();
        assertEquals(symbols("constant").size(), compared + absent);
    }

    @Test
    void shouldAgreeWithTheCompilerOnEveryType() throws Exception {
        final List<String> differences = new ArrayList<>();
        int compared = 0;
        for (final String type : presentTypes()) {
            final GroupLayout layout = layout(type);
            compare(type, "size " + presentSize(type, layout) + ", alignment " + layout.byteAlignment(), differences);
            compared++;
        }

        assertNone(differences);
        final long absent =
                ABSENT.stream().filter(symbol -> symbol.startsWith("struct ")).count();
        assertEquals(symbols("struct").size() + symbols("union").size(), compared + absent);
    }

    @Test
    void shouldAgreeWithTheCompilerOnEveryField() throws Exception {
        final List<String> differences = new ArrayList<>();
        final Set<String> comparedTypes = new TreeSet<>(STAND_INS.keySet());
        for (final Field field : presentFields()) {
            compare(field.name(), describe(field), differences);
            comparedTypes.add(field.type());
        }

        assertNone(differences);
        assertEquals(presentTypes(), comparedTypes);
    }

    @Test
    void shouldHideNoFieldBehindPadding() throws Exception {
        // jextract turns what it cannot express, such as bit fields, into padding.
        final List<String> hidden = new ArrayList<>();
        for (final String type : boundTypes()) {
            findHiddenFields(type, generated(type), hidden);
        }
        assertNone(hidden);
    }

    /** The list of what is bound of a header; its name is that of the class. */
    private static Path list(final Class<?> header) {
        final String name = header.getSimpleName().replace("_h", ".txt");
        return Path.of(System.getProperty("basedir", ""), "src", "main", "headers", "symbols", name);
    }

    private static Map<String, Set<String>> symbols(final Class<?> header) throws IOException {
        final Map<String, Set<String>> symbols = new HashMap<>();
        final String prefix = "--include-";
        for (final String line : Files.readAllLines(list(header))) {
            if (line.startsWith(prefix)) {
                final int space = line.indexOf(' ');
                symbols.computeIfAbsent(line.substring(prefix.length(), space), kind -> new TreeSet<>())
                        .add(line.substring(space + 1));
            }
        }
        return symbols;
    }

    private static Set<String> symbols(final String kind) {
        return SYMBOLS.get(kind);
    }

    private static Set<String> minus(final Set<String> symbols, final Set<String> others) {
        final Set<String> rest = new TreeSet<>(symbols);
        rest.removeAll(others);
        return rest;
    }

    /** Each constant is a method; so is each function, but for the variadic ones, which are classes. */
    private static Set<String> boundConstantsAndFunctions(final Class<?> header) {
        final Stream<String> methods = Arrays.stream(header.getMethods())
                .filter(method -> Modifier.isStatic(method.getModifiers()))
                .map(Method::getName);
        final Stream<String> classes = Arrays.stream(header.getClasses()).map(Class::getSimpleName);
        return Stream.concat(methods, classes)
                .filter(name -> name.indexOf('$') < 0)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> boundTypes() throws IOException, URISyntaxException {
        final Set<String> types = new TreeSet<>();
        for (final Class<?> header : HEADERS) {
            types.addAll(boundTypes(header));
        }
        return types;
    }

    /** Each struct and union is a class beside that of the constants. */
    private static Set<String> boundTypes(final Class<?> header) throws IOException, URISyntaxException {
        final String suffix = ".class";
        final Path classes = Path.of(
                        header.getResource(header.getSimpleName() + suffix).toURI())
                .getParent();
        try (Stream<Path> files = Files.list(classes)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(suffix) && name.indexOf('$') < 0)
                    .map(name -> name.substring(0, name.length() - suffix.length()))
                    .filter(name -> !name.equals(header.getSimpleName()))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static Set<String> presentTypes() throws IOException, URISyntaxException {
        final Set<String> types = boundTypes();
        types.removeIf(type -> ABSENT.contains("struct " + type));
        return types;
    }

    /** The layout on this machine. */
    private static GroupLayout layout(final String type) throws ReflectiveOperationException {
        return (GroupLayout) withMutexOfThisMachine(generated(type));
    }

    private static GroupLayout generated(final String type) throws ReflectiveOperationException {
        final Class<?> generated = Class.forName(HEADER_OF.get(type).getPackageName() + "." + type);
        return (GroupLayout) generated.getMethod("layout").invoke(null);
    }

    /** Makes each mutex longer by {@link Pthread#MUTEX_GROWTH}, as the users of the bindings do. */
    private static MemoryLayout withMutexOfThisMachine(final MemoryLayout layout) {
        if (Pthread.MUTEX_GROWTH == 0 || !(layout instanceof final StructLayout struct)) {
            return layout;
        }
        final List<MemoryLayout> members = new ArrayList<>();
        for (final MemoryLayout member : struct.memberLayouts()) {
            members.add(withMutexOfThisMachine(member));
        }
        if (struct.withoutName().equals(posix_mutex.layout().withoutName())) {
            members.add(MemoryLayout.paddingLayout(Pthread.MUTEX_GROWTH));
        }
        final StructLayout grown = MemoryLayout.structLayout(members.toArray(MemoryLayout[]::new));
        return struct.name().map(name -> (MemoryLayout) grown.withName(name)).orElse(grown);
    }

    private static List<Field> allFields() throws Exception {
        final List<Field> fields = new ArrayList<>();
        for (final String type : boundTypes()) {
            addMembers(type, "", layout(type), 0, fields);
        }
        return fields;
    }

    private static List<Field> presentFields() throws Exception {
        final List<Field> fields = allFields();
        fields.removeIf(LayoutTest::isAbsent);
        return fields;
    }

    /** Whether the headers lack the field, or what it is part of, or have it in another length. */
    private static boolean isAbsent(final Field field) {
        return ABSENT.contains("struct " + field.type())
                || ABSENT.stream()
                        .anyMatch(symbol ->
                                isPartOf(field, symbol) || isPartOf(field, WERE_RESERVED.getOrDefault(symbol, symbol)));
    }

    private static boolean isPartOf(final Field field, final String whole) {
        return field.name().equals(whole)
                || field.name().startsWith(whole + ".")
                || field.name().startsWith(whole + "[");
    }

    private static void addMembers(
            final String type, final String path, final GroupLayout group, final long start, final List<Field> fields)
            throws ReflectiveOperationException {
        if (isStandIn(group)) {
            return;
        }

        long offset = start;
        for (final MemoryLayout member : group.memberLayouts()) {
            final String name = member.name().orElse("");
            if (name.startsWith("$anon$")) {
                // In C the members of an anonymous struct or union are named as if they were its parent's.
                addMembers(type, path, (GroupLayout) member, offset, fields);
            } else if (!(member instanceof PaddingLayout)) {
                addField(new Field(type, path.isEmpty() ? name : path + "." + name, offset, member), fields);
            }
            offset += group instanceof StructLayout ? member.byteSize() : 0;
        }
    }

    private static boolean isStandIn(final GroupLayout group) throws ReflectiveOperationException {
        for (final String type : STAND_INS.keySet()) {
            // The name is that of the type or of the member that has it.
            if (layout(type).withoutName().equals(group.withoutName())) {
                return true;
            }
        }
        return false;
    }

    private static void addField(final Field field, final List<Field> fields) throws ReflectiveOperationException {
        fields.add(field);
        if (field.layout() instanceof GroupLayout group) {
            addMembers(field.type(), field.path(), group, field.offset(), fields);
        } else if (field.layout() instanceof SequenceLayout array) {
            addField(new Field(field.type(), field.path() + "[0]", field.offset(), array.elementLayout()), fields);
        }
    }

    /** The size without the fields at the end that the headers lack. */
    private static long presentSize(final String type, final GroupLayout layout) {
        for (final MemoryLayout member : layout.memberLayouts()) {
            final String name = member.name().orElse("");
            final String field = type + "." + name;
            if (ABSENT.contains(field) && !WERE_RESERVED.containsKey(field)) {
                final long end = layout.byteOffset(MemoryLayout.PathElement.groupElement(name));
                return align(end, layout.byteAlignment());
            }
        }
        return layout.byteSize();
    }

    private static void findHiddenFields(final String path, final MemoryLayout layout, final List<String> hidden) {
        if (layout instanceof SequenceLayout array) {
            findHiddenFields(path + "[0]", array.elementLayout(), hidden);
        } else if (layout instanceof GroupLayout group) {
            final boolean isStruct = group instanceof StructLayout;
            long offset = 0;
            long end = 0;
            for (final MemoryLayout member : group.memberLayouts()) {
                if (!(member instanceof PaddingLayout)) {
                    final String name = path + "." + member.name().orElseThrow();
                    if (isStruct && offset != align(end, member.byteAlignment())) {
                        hidden.add(name + " lies at " + offset + ", but what precedes it ends at " + end);
                    }
                    findHiddenFields(name, member, hidden);
                    end = Math.max(end, offset + member.byteSize());
                }
                offset += isStruct ? member.byteSize() : 0;
            }
            if (group.byteSize() != align(end, group.byteAlignment())) {
                hidden.add(path + " has " + group.byteSize() + " bytes, but its last field ends at " + end);
            }
        }
    }

    private static long align(final long offset, final long alignment) {
        return (offset + alignment - 1) / alignment * alignment;
    }

    private static String describe(final Field field) {
        final String place =
                "offset " + field.offset() + ", size " + field.layout().byteSize();
        if (field.layout() instanceof ValueLayout) {
            return place + ", " + (field.layout() instanceof AddressLayout ? "pointer" : "number");
        }
        return place;
    }

    /** An int stands for an unsigned one as well, but never for half of a wider value. */
    private static boolean isValue(final Object java, final String c) {
        final long value = Long.parseLong(c);
        if (java instanceof Integer number) {
            return value == number || value == Integer.toUnsignedLong(number);
        }
        return value == (java instanceof MemorySegment pointer ? pointer.address() : (Long) java);
    }

    private static void compare(final String name, final String java, final List<String> differences) {
        if (!java.equals(C.get(name))) {
            differences.add(name + ": the bindings have " + java + ", the headers " + C.get(name));
        }
    }

    private static void assertNone(final List<String> differences) {
        if (!differences.isEmpty()) {
            fail(String.join("\n", differences));
        }
    }

    private static String answers() throws Exception {
        try {
            return compiler.run(questions());
        } catch (final IOException ex) {
            throw new IOException(
                    "The headers lack what the bindings have and SINCE does not name\n" + ex.getMessage(), ex);
        }
    }

    private static String questions() throws Exception {
        final StringBuilder program = new StringBuilder(MACROS).append("int main(void)\n{\n");
        for (final String name : minus(symbols("constant"), ABSENT)) {
            program.append("CONSTANT(%s)\n".formatted(name));
        }
        for (final String type : presentTypes()) {
            program.append("TYPE(\"%s\", %s, %s)\n".formatted(type, cType(type), front(type)));
        }
        for (final Field field : presentFields()) {
            program.append("%s(\"%s\", %s, %s, %s)\n"
                    .formatted(
                            field.layout() instanceof ValueLayout ? "SCALAR" : "FIELD",
                            field.name(),
                            cType(field.type()),
                            field.path(),
                            front(field.type())));
        }
        return program.append("return 0;\n}\n").toString();
    }

    private static String front(final String type) {
        return NEWER_FRONT.startsWith(type + ".") ? front : "0";
    }

    private static String cType(final String type) {
        return STAND_INS.getOrDefault(type, (symbols("union").contains(type) ? "union " : "struct ") + type);
    }

    private static String offsetOf(final String field) {
        return "offsetof(struct " + field.replace(".", ", ") + ")";
    }

    private static boolean isConstant(final String symbol) {
        return symbol.indexOf('.') < 0 && symbol.indexOf(' ') < 0;
    }

    private static boolean exists(final String symbol) {
        if (isConstant(symbol)) {
            return compiler.accepts(symbol);
        }
        return compiler.accepts(symbol.startsWith("struct ") ? "sizeof(" + symbol + ")" : offsetOf(symbol));
    }
}
