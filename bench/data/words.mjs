// Words for generated rows.

const list = text => text.split('|')

/** City, state, county, median price, latitude and longitude. Earlier cities have larger weights. */
export const CITIES = list(
  'Austin,TX,Travis,520,30.27,-97.74|Houston,TX,Harris,340,29.76,-95.37|Dallas,TX,Dallas,410,32.78,-96.80|Toronto,ON,York,980,43.65,-79.38|Phoenix,AZ,Maricopa,430,33.45,-112.07|San Diego,CA,San Diego,910,32.72,-117.16|Denver,CO,Denver,590,39.74,-104.99|Miami,FL,Miami-Dade,560,25.76,-80.19|Chicago,IL,Cook,350,41.88,-87.63|Seattle,WA,King,840,47.61,-122.33|Atlanta,GA,Fulton,400,33.75,-84.39|Portland,OR,Multnomah,540,45.52,-122.68|Tampa,FL,Hillsborough,390,27.95,-82.46|Charlotte,NC,Mecklenburg,410,35.23,-80.84|Nashville,TN,Davidson,460,36.16,-86.78|Raleigh,NC,Wake,430,35.78,-78.64|Columbus,OH,Franklin,280,39.96,-83.00|Minneapolis,MN,Hennepin,330,44.98,-93.27|San Antonio,TX,Bexar,290,29.42,-98.49|Orlando,FL,Orange,380,28.54,-81.38|Mississauga,ON,Peel,930,43.59,-79.64|Las Vegas,NV,Clark,420,36.17,-115.14|Sacramento,CA,Sacramento,490,38.58,-121.49|Boise,ID,Ada,480,43.62,-116.20|Ottawa,ON,Ottawa,640,45.42,-75.70|Tucson,AZ,Pima,320,32.22,-110.97|Omaha,NE,Douglas,270,41.26,-95.93|Kansas City,MO,Jackson,250,39.10,-94.58|St. Louis,MO,St. Louis,210,38.63,-90.20|Salt Lake City,UT,Salt Lake,530,40.76,-111.89|Albuquerque,NM,Bernalillo,310,35.08,-106.65|Louisville,KY,Jefferson,240,38.25,-85.76|Richmond,VA,Henrico,350,37.54,-77.44|Hamilton,ON,Hamilton,760,43.26,-79.87|El Paso,TX,El Paso,240,31.76,-106.49|Fort Worth,TX,Tarrant,340,32.76,-97.33|Milwaukee,WI,Milwaukee,220,43.04,-87.91|Spokane,WA,Spokane,370,47.66,-117.43|Boulder,CO,Boulder,870,40.01,-105.27|Naples,FL,Collier,690,26.14,-81.79',
).map(x => {
  const [name, state, county, median, latitude, longitude] = x.split(',')
  return {
    name,
    state,
    county,
    median: Number(median) * 1000,
    latitude: Number(latitude),
    longitude: Number(longitude),
  }
})

export const STEMS = list(
  'Oak|Maple|Cedar|Pine|Elm|Willow|Birch|Walnut|Chestnut|Spruce|Hickory|Magnolia|Juniper|Sycamore|Laurel|River|Lake|Hill|Meadow|Forest|Prairie|Canyon|Harbor|Sunset|Highland|Park|Church|Mill|Spring|Washington|Lincoln|Jefferson|Madison|Franklin|Jackson|Adams|Monroe|Main|Market|College',
)
export const TAILS = list('|| Ridge| Creek| Hollow| Bend| View| Glen| Run| Grove| Heights')
export const SUFFIXES = list('Street|Avenue|Drive|Lane|Court|Road|Boulevard|Way|Place|Circle|Trail')
export const FIRST_NAMES = list(
  'James|Mary|Robert|Patricia|John|Jennifer|Michael|Linda|David|Elizabeth|William|Barbara|Richard|Susan|Joseph|Jessica|Thomas|Sarah|Carlos|Karen|Wei|Nancy|Daniel|Lisa|Ahmed|Betty|Mark|Sandra|Luis|Ashley|Steven|Emily|Paul|Donna|Andrew|Michelle|Joshua|Carol|Kenji|Amanda',
)
export const LAST_NAMES = list(
  'Smith|Johnson|Williams|Brown|Jones|Garcia|Miller|Davis|Rodriguez|Martinez|Hernandez|Lopez|Gonzalez|Wilson|Anderson|Thomas|Taylor|Moore|Jackson|Martin|Lee|Perez|Thompson|White|Harris|Sanchez|Clark|Ramirez|Lewis|Robinson|Walker|Young|Allen|King|Wright|Scott|Torres|Nguyen|Hill|Flores',
)
export const OFFICE_FIRST = list(
  'Blue Door|Harbor|Summit|Cornerstone|Lakeview|Heritage|Northstar|Keystone|Redwood|Prairie|Capital|Union',
)
export const OFFICE_SECOND = list('Realty|Homes|Real Estate|Properties|Brokers|Residential')
export const AREAS = list('North|South|East|West|Central|Downtown|Lakeside|Hills')
export const SUBDIVISIONS = list('Park|Estates|Village|Commons|Crossing|Meadows|Landing|Place')

/** Values of the collections, the most common first. Probability decreases geometrically. */
export const CHOICES = {
  ConstructionMaterials: list(
    'Frame|Brick|Vinyl Siding|Stucco|Wood Siding|Stone|Brick Veneer|Cement Siding|Block|Concrete|Fiber Cement|Aluminum Siding|HardiPlank Type|Cedar|Steel Siding|Log|Adobe|Straw',
  ),
  Levels: list('One|Two|Three Or More|Multi/Split|Bi-Level'),
  ArchitecturalStyle: list(
    'Ranch|Traditional|Contemporary|Colonial|Craftsman|Bungalow|Cape Cod|Victorian|Tudor|Mediterranean',
  ),
  Roof: list('Composition|Shingle|Tile|Metal|Asphalt|Flat|Slate|Wood'),
  FoundationDetails: list('Slab|Concrete Perimeter|Block|Pillar/Post/Pier|Raised'),
  Basement: list('None|Full|Finished|Unfinished|Crawl Space|Partial|Walk-Out Access'),
  Flooring: list('Carpet|Hardwood|Tile|Vinyl|Laminate|Wood|Stone|Concrete'),
  Appliances: list(
    'Dishwasher|Range|Refrigerator|Microwave|Disposal|Dryer|Washer|Oven|Electric Water Heater|Freezer|Wine Refrigerator',
  ),
  InteriorFeatures: list(
    'Ceiling Fan(s)|Walk-In Closet(s)|Kitchen Island|Pantry|High Ceilings|Open Floorplan|Granite Counters|Breakfast Bar|Eat-in Kitchen|Recessed Lighting|Wet Bar|Smart Thermostat',
  ),
  ExteriorFeatures: list(
    'Private Yard|Rain Gutters|Garden|Balcony|Lighting|Courtyard|Dog Run|Outdoor Kitchen',
  ),
  LotFeatures: list(
    'Level|Landscaped|Back Yard|Corner Lot|Cul-De-Sac|Few Trees|Sloped|Wooded|Near Golf Course',
  ),
  ParkingFeatures: list('Attached|Garage|Driveway|Garage Door Opener|Detached|Carport|On Street|Covered'),
  PatioAndPorchFeatures: list('Patio|Deck|Covered|Front Porch|Rear Porch|Screened'),
  PoolFeatures: list('None|In Ground|Heated|Community|Above Ground|Salt Water'),
  SpaFeatures: list('None|Heated|In Ground|Private'),
  Heating: list('Forced Air|Central|Natural Gas|Electric|Heat Pump|Radiant|Baseboard'),
  Cooling: list('Central Air|Ceiling Fan(s)|Electric|Heat Pump|Window Unit(s)|None'),
  Sewer: list('Public Sewer|Septic Tank|Private Sewer|Shared Septic'),
  WaterSource: list('Public|Well|Private|Shared Well'),
  Utilities: list(
    'Electricity Connected|Natural Gas Connected|Water Connected|Sewer Connected|Cable Available|Phone Available',
  ),
  View: list('Neighborhood|Trees/Woods|Mountain(s)|City|Water|Golf Course|Panoramic'),
  AccessibilityFeatures: list('None|Accessible Entrance|Grip-Accessible Features|Accessible Doors'),
  SpecialListingConditions: list('Standard|Short Sale|Real Estate Owned|Auction|Trust'),
}

export const SENTENCES = list(
  'Welcome to this beautifully maintained home on a quiet street close to parks, schools and shopping.|The open main floor has tall windows, warm wood floors and room to gather.|A renovated kitchen offers stone counters, a large island and new stainless appliances.|The primary suite has a walk-in closet and a spa-like bath with a double vanity.|Enjoy the private back yard with a covered patio, mature trees and space for a garden.|Recent updates include the roof, the furnace, the water heater and all exterior paint.|A short walk leads to the trail system, the farmers market and two coffee shops.|The lower level can serve as a guest suite, a media room or a home office.|Seller will consider a rent-back; please allow a day of notice for showings.|Low monthly dues cover the pool, the gym and the care of the common grounds.|An oversized garage has storage, a workbench and an outlet for electric vehicles.|Commuters will like the quick drive to the airport and to downtown.',
)
