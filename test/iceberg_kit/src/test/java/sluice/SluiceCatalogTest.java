package sluice;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.catalog.CatalogTests;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.BeforeEach;

/** The tests that Apache Iceberg has for every catalog, on the server of SLUICE_ICEBERG_URI. */
public class SluiceCatalogTest extends CatalogTests<RESTCatalog> {
  private RESTCatalog catalog;

  @BeforeEach
  public void connect() {
    catalog = initCatalog("sluice", Map.of());
    // Each test begins with an empty catalog.
    for (Namespace one : namespacesBelow(Namespace.empty())) {
      for (TableIdentifier table : catalog.listTables(one)) {
        catalog.dropTable(table, false);
      }
      catalog.dropNamespace(one);
    }
  }

  /** The namespaces, those inside of others first. */
  private List<Namespace> namespacesBelow(Namespace parent) {
    List<Namespace> found = new java.util.ArrayList<>();
    for (Namespace one : catalog.listNamespaces(parent)) {
      found.addAll(namespacesBelow(one));
      found.add(one);
    }
    return found;
  }

  @Override
  protected RESTCatalog catalog() {
    return catalog;
  }

  @Override
  protected RESTCatalog initCatalog(String name, Map<String, String> more) {
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", System.getenv("SLUICE_ICEBERG_URI"));
    properties.put("token", System.getenv("SLUICE_KEY"));
    properties.put("warehouse", System.getenv("SLUICE_PROJECT"));
    // Clients add these to a new table; the tests look for them.
    properties.put("table-default.default-key1", "catalog-default-key1");
    properties.put("table-default.default-key2", "catalog-default-key2");
    properties.put("table-default.override-key3", "catalog-default-key3");
    properties.put("table-override.override-key3", "catalog-override-key3");
    properties.put("table-override.override-key4", "catalog-override-key4");
    properties.put("io-impl", "org.apache.iceberg.hadoop.HadoopFileIO");
    properties.putAll(more);
    RESTCatalog made = new RESTCatalog();
    made.initialize(name, properties);
    return made;
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }

  /** The catalog takes places below that of the namespace alone. */
  @Override
  protected String baseTableLocation(TableIdentifier table) {
    return System.getenv("SLUICE_LAKE") + "/" + table.namespace() + "/" + table.name();
  }

  /** A name is a folder too. */
  @Override
  protected boolean supportsNamesWithSlashes() {
    return false;
  }

  @Override
  protected boolean supportsNestedNamespaces() {
    return true;
  }
}
