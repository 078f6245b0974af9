package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.CCompiler;

/** The structures of the kernel's interface have the layouts of the headers. */
class UverbsTest {
    /** Structures by their names in C. */
    private static final Map<String, Layout> STRUCTURES = new TreeMap<>(Map.ofEntries(
            Map.entry("ib_uverbs_cmd_hdr", Uverbs.HEADER),
            Map.entry("ib_uverbs_ex_cmd_hdr", Uverbs.EXTENDED_HEADER),
            Map.entry("ib_uverbs_get_context_resp", Uverbs.GET_CONTEXT_OUT),
            Map.entry("ib_uverbs_query_device_resp", Uverbs.QUERY_DEVICE_OUT),
            Map.entry("ib_uverbs_query_port", Uverbs.QUERY_PORT_IN),
            Map.entry("ib_uverbs_query_port_resp", Uverbs.QUERY_PORT_OUT),
            Map.entry("ib_uverbs_alloc_pd_resp", Uverbs.ALLOC_PD_OUT),
            Map.entry("ib_uverbs_dealloc_pd", Uverbs.DEALLOC_PD_IN),
            Map.entry("ib_uverbs_reg_mr", Uverbs.REG_MR_IN),
            Map.entry("ib_uverbs_reg_mr_resp", Uverbs.REG_MR_OUT),
            Map.entry("ib_uverbs_dereg_mr", Uverbs.DEREG_MR_IN),
            Map.entry("ib_uverbs_alloc_mw", Uverbs.ALLOC_MW_IN),
            Map.entry("ib_uverbs_alloc_mw_resp", Uverbs.ALLOC_MW_OUT),
            Map.entry("ib_uverbs_dealloc_mw", Uverbs.DEALLOC_MW_IN),
            Map.entry("ib_uverbs_create_comp_channel_resp", Uverbs.CREATE_COMP_CHANNEL_OUT),
            Map.entry("ib_uverbs_create_cq", Uverbs.CREATE_CQ_IN),
            Map.entry("ib_uverbs_ex_create_cq", Uverbs.EX_CREATE_CQ_IN),
            Map.entry("ib_uverbs_create_cq_resp", Uverbs.CREATE_CQ_OUT),
            Map.entry("ib_uverbs_resize_cq", Uverbs.RESIZE_CQ_IN),
            Map.entry("ib_uverbs_resize_cq_resp", Uverbs.RESIZE_CQ_OUT),
            Map.entry("ib_uverbs_destroy_cq", Uverbs.DESTROY_CQ_IN),
            Map.entry("ib_uverbs_destroy_cq_resp", Uverbs.DESTROY_CQ_OUT),
            Map.entry("ib_uverbs_create_qp", Uverbs.CREATE_QP_IN),
            Map.entry("ib_uverbs_ex_create_qp", Uverbs.EX_CREATE_QP_IN),
            Map.entry("ib_uverbs_create_qp_resp", Uverbs.CREATE_QP_OUT),
            Map.entry("ib_uverbs_qp_dest", Uverbs.QP_DEST),
            Map.entry("ib_uverbs_query_qp", Uverbs.QUERY_QP_IN),
            Map.entry("ib_uverbs_query_qp_resp", Uverbs.QUERY_QP_OUT),
            Map.entry("ib_uverbs_modify_qp", Uverbs.MODIFY_QP_IN),
            Map.entry("ib_uverbs_destroy_qp", Uverbs.DESTROY_QP_IN),
            Map.entry("ib_uverbs_destroy_qp_resp", Uverbs.DESTROY_QP_OUT),
            Map.entry("ib_uverbs_attach_mcast", Uverbs.MCAST_IN),
            Map.entry("ib_uverbs_create_srq", Uverbs.CREATE_SRQ_IN),
            Map.entry("ib_uverbs_create_srq_resp", Uverbs.CREATE_SRQ_OUT),
            Map.entry("ib_uverbs_modify_srq", Uverbs.MODIFY_SRQ_IN),
            Map.entry("ib_uverbs_query_srq", Uverbs.QUERY_SRQ_IN),
            Map.entry("ib_uverbs_query_srq_resp", Uverbs.QUERY_SRQ_OUT),
            Map.entry("ib_uverbs_destroy_srq", Uverbs.DESTROY_SRQ_IN),
            Map.entry("ib_uverbs_destroy_srq_resp", Uverbs.DESTROY_SRQ_OUT),
            Map.entry("ib_uverbs_create_ah_resp", Uverbs.CREATE_AH_OUT),
            Map.entry("ib_uverbs_destroy_ah", Uverbs.DESTROY_AH_IN),
            Map.entry("ib_uverbs_async_event_desc", Uverbs.ASYNC_EVENT),
            Map.entry("ib_uverbs_comp_event_desc", Uverbs.COMP_EVENT)));

    @TempDir
    Path folder;

    @Test
    void shouldHaveTheLayoutsOfTheHeaders() throws IOException {
        assertLayouts(folder, "rdma/ib_user_verbs.h", STRUCTURES);
    }

    /** Compares structures, by their names in C, with those of a header. */
    static void assertLayouts(Path folder, String header, Map<String, Layout> structures) throws IOException {
        StringBuilder source = new StringBuilder("#include <%s>\nint main(void) {\n".formatted(header));
        List<String> expected = new ArrayList<>();
        structures.forEach((structure, layout) -> {
            for (String field : layout.names()) {
                expected.add(structure + "." + field + " " + layout.offset(field) + " " + layout.size(field));
                source.append(
                        "printf(\"%1$s.%2$s %%zu %%zu\\n\", offsetof(struct %1$s, %2$s), ".formatted(structure, field));
                source.append("sizeof ((struct %s *)0)->%s);\n".formatted(structure, field));
            }
        });
        source.append("return 0;\n}\n");
        assertEquals(
                String.join("\n", expected),
                new CCompiler(folder).run(source.toString()).strip());
    }

    @Test
    void shouldHaveTheCommandsOfTheHeaders() throws IOException {
        String source = """
                #include <rdma/ib_user_verbs.h>
                int main(void) {
                    printf("%d %d %d %d %d %d %d", IB_USER_VERBS_CMD_REG_MR, IB_USER_VERBS_CMD_ALLOC_MW,
                        IB_USER_VERBS_CMD_CREATE_CQ, IB_USER_VERBS_CMD_CREATE_QP, IB_USER_VERBS_CMD_MODIFY_QP,
                        IB_USER_VERBS_CMD_CREATE_SRQ, IB_USER_VERBS_CMD_DESTROY_SRQ);
                    return 0;
                }
                """;
        assertEquals(
                "%d %d %d %d %d %d %d"
                        .formatted(
                                Uverbs.REG_MR,
                                Uverbs.ALLOC_MW,
                                Uverbs.CREATE_CQ,
                                Uverbs.CREATE_QP,
                                Uverbs.MODIFY_QP,
                                Uverbs.CREATE_SRQ,
                                Uverbs.DESTROY_SRQ),
                new CCompiler(folder).run(source));
    }
}
